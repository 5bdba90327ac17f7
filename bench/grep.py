#!/usr/bin/env python3
"""Searching many sessions: `sessions grep` over a large store.

grep.py --bin NAME=PATH [--bin ...] [--megabytes 1024] [--each 4] [--repeat 3]

Makes rollouts of EACH megabytes (items with words and escaped text, in the format
of a session file) until MEGABYTES are there; one line of one rollout has the text
that is looked for. Prints, for each binary and each pattern, the least wall and CPU
seconds of REPEAT runs, with all files in the page cache.
"""
import argparse, json, os, pathlib, random, shutil, tempfile
import common

NEEDLE = "the linker cannot find -lquux"
PATTERNS = [
    ("text", ["-F", NEEDLE]),
    ("text, any case", ["-F", "-i", NEEDLE.upper()]),
    ("expression", [r"cannot find -lqu\w+$"]),
    ("either of two", ["find -lquux|find -lxuuq"]),
    ("nothing", ["-F", "nowhere to be found at all"]),
]


def rollout(path, ident, size, words, needle):
    def line(kind, payload):
        return json.dumps({"timestamp": "2026-01-02T03:04:05.000Z", "type": kind, "payload": payload}, separators=(",", ":")) + "\n"

    meta = {"id": ident, "timestamp": "2026-01-02T03:04:05.000Z", "cwd": "/w", "originator": "bench", "cli_version": "1", "source": "exec"}
    with open(path, "w") as f:
        f.write(line("session_meta", meta))
        said = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "look around"}]}
        f.write(line("response_item", said))
        done, n = f.tell(), 0
        while done < size:
            text = "\n".join(" ".join(random.choices(words, k=12)) + ' "quoted"\t' for _ in range(60))
            if needle and n == 3:
                text += "\n" + NEEDLE
            out = line("response_item", {"type": "function_call_output", "call_id": f"c{n}", "output": text})
            f.write(out)
            done, n = done + len(out), n + 1


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--bin", action="append", required=True)
    p.add_argument("--megabytes", type=int, default=1024)
    p.add_argument("--each", type=int, default=4)
    p.add_argument("--repeat", type=int, default=3)
    p.add_argument("--json", help="write the figures here")
    a = p.parse_args()
    common.loopback_only()
    figures = common.Figures("grep")
    bins = common.bins(a.bin)
    tmp = tempfile.mkdtemp(prefix="grep-", dir=common.scratch())
    try:
        random.seed(1)
        words = ["".join(random.choices("abcdefghijklmnop", k=random.randint(2, 9))) for _ in range(4000)]
        home, day = f"{tmp}/home", "2026/01/02"
        folder = pathlib.Path(home, "sessions", day)
        folder.mkdir(parents=True)
        count = max(1, a.megabytes // a.each)
        for n in range(count):
            ident = f"019a0000-0000-7000-8000-{n:012}"
            path = folder / f"rollout-2026-01-02T03-04-05-{ident}.jsonl"
            # Making text is slow: four different files, and copies of these.
            if n < 4 or n == count // 2:
                rollout(path, ident, a.each << 20, words, n == count // 2)
            else:
                shutil.copyfile(folder / f"rollout-2026-01-02T03-04-05-019a0000-0000-7000-8000-{n % 4:012}.jsonl", path)
        size = sum(f.stat().st_size for f in folder.iterdir())
        print(f"store: {count} rollouts, {size / 1e6:.0f} MB")
        for f in folder.iterdir():
            f.read_bytes()
        for name, path in bins:
            for title, args in PATTERNS:
                best = None
                for _ in range(a.repeat):
                    r = common.run([path, "sessions", "grep", *args], env=common.codex_env(home), cwd=tmp)
                    hits = r["out"].decode(errors="replace").count("\n")
                    row = (r["wall"], r["cpu"], hits)
                    best = row if best is None else (min(best[0], row[0]), min(best[1], row[1]), hits)
                figures.add(name, "wall", best[0], "s", what=title, megabytes=a.megabytes)
                figures.add(name, "cpu", best[1], "s", what=title, megabytes=a.megabytes)
                print(f"{name:12s} {title:16s} wall {best[0]:7.2f} s cpu {best[1]:7.2f} s hits {best[2]}")
        figures.write(a.json)
    finally:
        shutil.rmtree(tmp, ignore_errors=True)


if __name__ == "__main__":
    main()
