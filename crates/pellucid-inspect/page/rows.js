// The rows of a request: fetched in pages, found by byte.
import { api } from "./interface.js";

const PAGE = 1000;

export class Rows {
  constructor(id, n) {
    this.id = id;
    this.n = n;
    this.all = [];
  }

  /** `arrived` is called for each further page; the promise is for the first. */
  async load(arrived, from = 0) {
    const page = await api.rows(this.id, this.n, from, PAGE);
    this.all.push(...page.rows);
    if (from) arrived();
    if (page.next !== null) this.load(arrived, page.next);
    return this;
  }

  /** @returns {number} the index of the row that has a byte; -1 if it has not been fetched */
  at(byte) {
    let [low, high] = [0, this.all.length - 1];
    while (low <= high) {
      const middle = (low + high) >> 1;
      const { start, bytes } = this.all[middle];
      if (byte < start) high = middle - 1;
      else if (byte >= start + bytes) low = middle + 1;
      else return middle;
    }
    return -1;
  }
}
