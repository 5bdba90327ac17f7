#!/usr/bin/env python3
"""The screens of docs/terminal.md, taken from the program itself.

    python3 tui/screens.py --bin target/debug/pellucid            # compare; exit status 1 if a screen differs
    python3 tui/screens.py --bin target/debug/pellucid --write    # write the page

A screen stands in the page between `<!-- screen: NAME -->` and the end of the block of text below it.
The model is scripted, so nothing is needed but the program. Python 3.11 or newer, standard library only.
"""

import argparse
import difflib
import os
import re
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

from terminal import Terminal  # noqa: E402

PAGE = os.path.join(os.path.dirname(HERE), "docs", "terminal.md")
COLUMNS, ROWS = 80, 40
PATIENCE = float(os.environ.get("TUI_PATIENCE", "30"))

FILES = {
    "calc.py": "def add(a, b):\n    return a - b\n",
    "check.sh": "python3 -c 'from calc import add; assert add(2, 3) == 5, add(2, 3)' 2>&1 | tail -n 1\n",
}

FIX = r'''
[[reply]]
say = "I run the check first."
call = [{ name = "shell_command", args = { command = "cat calc.py" } }, { name = "shell_command", args = { command = "sh check.sh" } }]
usage = { input = 21000, cached = 9000, output = 60 }

[[reply]]
call = [{ name = "apply_patch", input = "*** Begin Patch\n*** Update File: calc.py\n@@\n def add(a, b):\n-    return a - b\n+    return a + b\n*** End Patch" }]
usage = { input = 22000, cached = 21000, output = 80 }

[[reply]]
say = "`add` subtracted. It **adds** now."
usage = { input = 23000, cached = 22000, output = 20 }
'''

ASK = r'''
[[reply]]
say = "The package is not installed."
call = [{ name = "shell_command", args = { command = "npm install left-pad", sandbox_permissions = "require_escalated", justification = "npm needs the network to install the package" } }]
usage = { input = 21000, cached = 9000, output = 60 }

[[reply]]
say = "Installed."
'''

ANSWER = r'''
[[reply]]
say = """
There are **three** ways to wait for a file:

| way | delay | load |
|---|---|---|
| poll | up to the interval | a call per interval |
| `inotify` | none | none |
| a lock | none | one process waits |

1. Prefer `inotify`, if the file is on this machine.
2. Otherwise poll:

```python
while not path.exists():
    time.sleep(0.2)
```

> A poll also works over a network.
"""
usage = { input = 21000, cached = 9000, output = 260 }
'''

# name, script, arguments, prompt, what is on the screen when it is taken
SCREENS = [
    ("start", FIX, [], None, "directory:"),
    ("turn", FIX, ["-a", "never", "-s", "danger-full-access"], "add gives wrong sums", "It adds now."),
    ("approval", ASK, [], "pad the numbers", "No, and"),
    ("answer", ANSWER, [], "how do I wait for a file?", "over a network."),
]


def take(binary, script, args, prompt, until):
    """The rows of the screen when `until` is on it and no turn runs."""
    with tempfile.TemporaryDirectory(prefix="screens-") as top:
        home, work = os.path.join(top, "home"), os.path.join(top, "home", "work")
        os.makedirs(os.path.join(home, ".pellucid"))
        os.makedirs(work)
        for name, text in FILES.items():
            with open(os.path.join(work, name), "w") as f:
                f.write(text)
        with open(os.path.join(home, ".pellucid", "config.toml"), "w") as f:
            f.write(f'[projects."{os.path.realpath(work)}"]\ntrust_level = "trusted"\n')
        with open(os.path.join(top, "script.toml"), "w") as f:
            f.write(script)
        env = {"HOME": os.path.realpath(home), "PATH": os.environ["PATH"], "TERM": "xterm-256color", "LANG": "C.UTF-8",
               "PELLUCID_HOME": os.path.join(os.path.realpath(home), ".pellucid")}
        argv = [binary, "--script", os.path.join(top, "script.toml"), *args, *([prompt] if prompt else [])]
        terminal = Terminal(argv, os.path.realpath(work), env, COLUMNS, ROWS)
        try:
            def is_there(screen):
                text = "\n".join(screen.lines())
                return until in text and "to interrupt)" not in text
            if not terminal.wait(is_there, PATIENCE):
                sys.exit("the program does not show " + repr(until) + ":\n" + "\n".join(terminal.screen.lines()))
            with terminal.changed:
                rows = [row.rstrip() for row in terminal.screen.lines()]
        finally:
            terminal.close()
    return "\n".join(rows).strip("\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", required=True, help="the program")
    parser.add_argument("--write", action="store_true", help="write the screens into the page")
    args = parser.parse_args()
    with open(PAGE, encoding="utf-8") as f:
        before = after = f.read()
    for name, script, options, prompt, until in SCREENS:
        screen = take(os.path.abspath(args.bin), script, options, prompt, until)
        place = re.compile(rf"(<!-- screen: {name} -->\n\n```text\n).*?(\n```\n)", re.S)
        if not place.search(after):
            sys.exit(f"{PAGE} has no screen {name}")
        after = place.sub(lambda found: found.group(1) + screen + found.group(2), after)
    if args.write:
        with open(PAGE, "w", encoding="utf-8") as f:
            f.write(after)
    elif after != before:
        lines = difflib.unified_diff(before.splitlines(), after.splitlines(), "docs/terminal.md", "the program", lineterm="")
        print("\n".join(lines))
        sys.exit(f"a screen of docs/terminal.md is not what the program shows; write it: {sys.argv[0]} --bin {args.bin} --write")
    print(f"{len(SCREENS)} screens")


if __name__ == "__main__":
    main()
