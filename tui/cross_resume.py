#!/usr/bin/env python3
"""Sessions that one program wrote continue in the other one, typed in a terminal.

    cross_resume.py --bin PATH [--match REGEX]

Plays every scenario that continues a session in a later run, twice: the reference writes
the session and PATH continues it, and the other way round.  Each program finds instructions
in the session that are not its own, and must do with them what the other one does: both
captures must be equal (requests, session files, files, exit status), and a request that
continues a session must begin with all that the session sent before.  The reference is the
Codex CLI 0.104.0; CODEX_BIN names it.  Without it nothing is played, and the last line says so.
"""

import argparse
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

import play  # noqa: E402
import run as run_module  # noqa: E402
import tui_compare  # noqa: E402

REFERENCE = "0.104.0"
SCENARIOS = "^(fork_by_id|history_across_sessions|resume_all|resume_by_id|resume_by_name|resume_command|resume_last|resume_other_folder|resume_picker|resume_picker_search)$"
FRESH = ("history_across_sessions", "resume_picker_search")  # the last run begins a new session
PARTS = tuple(part for part in tui_compare.PARTS if part not in ("screens", "headers"))


def play_crossed(scenarios, first, later):
    """Captures of runs in which `first` plays the first run and `later` the others."""
    captures, bad = {}, 0
    for sc in scenarios:
        for i, run in enumerate(sc["runs"]):
            run["binary"] = first if i == 0 else later
        # The folders are named as for the reference; the environment says both programs where they are.
        capture, raw, notes = run_module.run_one(sc, first, "codex", REFERENCE)
        if not notes and sc["name"] not in FRESH:
            notes += not_continued(capture, raw)
        for note in notes:
            print(f"{sc['name']}: {note}")
        bad += bool(notes)
        captures[sc["name"]] = capture
    return captures, bad


def not_continued(capture, raw):
    """What is wrong with the last request: it must begin with what an earlier run sent, and contain its answer."""
    sent = [(e["run"], r["body"]["input"]) for e, r in zip(raw["exchanges"], capture["requests"]) if "body" in r]
    run, last = sent[-1] if sent else (0, [])
    if run < len(raw["runs"]) - 1:  # the last run only looked at lists
        return []
    earlier = [items for index, items in sent if index < run]
    if any(last[:len(items)] == items and len(last) > len(items) + 1 for items in earlier):
        return []
    return ["the last request does not continue an earlier session"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--bin", required=True, help="the program that is compared with the reference")
    parser.add_argument("--match", default=SCENARIOS, help="only scenarios whose name matches this regular expression")
    parser.add_argument("--limit", type=int, default=8, help="differences shown for each scenario")
    args = parser.parse_args()
    reference = os.environ.get("CODEX_BIN")
    if not reference or not os.access(reference, os.X_OK):
        print(f"skipped: CODEX_BIN does not name the Codex CLI {REFERENCE}, which has to write half of the sessions")
        return 0
    if play.base.version_of(reference) != ("codex", REFERENCE):
        print(f"skipped: {reference} is not codex {REFERENCE}")
        return 0
    ours = os.path.abspath(args.bin)
    if not os.access(ours, os.X_OK):
        print(f"no such binary: {args.bin}", file=sys.stderr)
        return 2
    play.isolate()
    select = lambda: run_module.select([os.path.join(HERE, "scenarios")], args.match)  # noqa: E731
    theirs, bad_theirs = play_crossed(select(), ours, reference)
    print(f"ours writes, the reference continues: {len(theirs) - bad_theirs}/{len(theirs)} sessions")
    mine, bad_mine = play_crossed(select(), reference, ours)
    print(f"the reference writes, ours continues: {len(mine) - bad_mine}/{len(mine)} sessions")
    same = tui_compare.report(theirs, mine, PARTS, limit=args.limit)
    return 0 if same and not bad_theirs and not bad_mine else 1


if __name__ == "__main__":
    sys.exit(main())
