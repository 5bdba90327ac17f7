#!/usr/bin/env python3
"""The detour through `pellucid watch`: wall and CPU time of a request, compared with the same request without it.

watch.py --bin NAME=PATH [--bin ...] [--sizes 1000,100000,1000000] [--n 300]

A command sends chat requests of SIZE bytes (a long first message, and 20 questions with their answers one after the other) to
the server, to a relay and to `watch` in front of it, in turns. Wall is the median over N pairs of the watched
request minus the direct one. CPU is what the `watch` process used for a request, with writing the record. The server does nothing but read and answer. The relay
moves the same bytes between two sockets and looks at nothing: what it costs is the copy.
"""
import argparse, json, os, pathlib, shutil, socket, subprocess, sys, tempfile, threading, time
import common

ANSWER = json.dumps({
    "id": "c", "choices": [{"message": {"role": "assistant", "content": "ok"}}],
    "usage": {"prompt_tokens": 40, "completion_tokens": 2, "total_tokens": 42},
}).encode()
# How many requests a conversation has.
LENGTH = 20
HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n" % len(ANSWER)


def read_message(stream, buffer):
    """Reads one message with a content-length."""
    while (end := buffer.find(b"\r\n\r\n")) < 0:
        piece = stream.recv(1 << 20)
        if not piece:
            return False
        buffer += piece
    head = bytes(buffer[:end]).lower()
    length = int(head.split(b"content-length:")[1].split(b"\r\n")[0])
    del buffer[: end + 4]
    left = length - len(buffer)
    del buffer[:length]
    while left > 0:
        piece = stream.recv(min(left, 1 << 20))
        if not piece:
            return False
        left -= len(piece)
    return True


def serve(listener):
    def talk(stream):
        stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        buffer = bytearray()
        while read_message(stream, buffer):
            stream.sendall(HEAD + ANSWER)

    while True:
        stream, _ = listener.accept()
        threading.Thread(target=talk, args=(stream,), daemon=True).start()


def relay(listener, port):
    """A relay that moves bytes without looking at them."""
    def move(a, b):
        r, w = os.pipe()
        try:
            while n := os.splice(a.fileno(), w, 1 << 16):
                while n:
                    n -= os.splice(r, b.fileno(), n)
        except OSError:
            pass

    while True:
        one, _ = listener.accept()
        two = socket.create_connection(("127.0.0.1", port))
        for stream in (one, two):
            stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for pair in ((one, two), (two, one)):
            threading.Thread(target=move, args=pair, daemon=True).start()


def request(path, host, size, number):
    """The next request of a conversation that grows. After LENGTH requests another conversation begins."""
    which, place = divmod(number + LENGTH, LENGTH)
    items = [{"role": "user", "content": f"conversation {which}: " + "word " * (size // 5)}]
    for n in range(place):
        items += [{"role": "assistant", "content": "ok"}, {"role": "user", "content": f"question {n}"}]
    body = json.dumps({"model": "m", "messages": items}).encode()
    head = f"POST {path}/chat/completions HTTP/1.1\r\nhost: {host}\r\naccept: */*\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"
    return head.encode() + body


def command(n, size):
    """Runs as the watched command. Prints medians and the CPU of `watch`."""
    sides = {}
    for name in ("DIRECT", "RELAY", "OPENAI_BASE_URL"):
        host, _, path = os.environ[name].removeprefix("http://").partition("/")
        address, port = host.split(":")
        stream = socket.create_connection((address, int(port)))
        stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        sides[name] = (stream, bytearray(), "/" + path, host, [])
    watch = os.getppid()
    before = 0.0
    for number in range(-LENGTH, n):
        for name, (stream, buffer, path, host, taken) in sides.items():
            message = request(path, host, size, number)
            began = time.perf_counter()
            stream.sendall(message)
            read_message(stream, buffer)
            if number >= 0:
                taken.append((time.perf_counter() - began) * 1000)
        if number == -1:
            # Folders that have just changed are looked into again, and those of this measurement are new.
            time.sleep(3)
            settled(watch)
            before = total_cpu(watch)
    settled(watch)
    medians = {name: sorted(side[4])[n // 2] for name, side in sides.items()}
    print(json.dumps({"wall": medians, "cpu": (total_cpu(watch) - before) / n}), flush=True)


def total_cpu(pid):
    total = 0.0
    for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
        try:
            total += int((task / "schedstat").read_text().split()[0]) / 1e6
        except OSError:
            pass
    return total


def settled(pid):
    """Waits until the record has been written: the process uses no more CPU."""
    before = -1.0
    while (now := total_cpu(pid)) - before > 0.5:
        before = now
        time.sleep(0.2)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--bin", action="append", required=True)
    p.add_argument("--sizes", default="1000,100000,1000000")
    p.add_argument("--n", type=int, default=300)
    p.add_argument("--json", help="write the figures here")
    a = p.parse_args()
    common.loopback_only()
    figures = common.Figures("watch")
    listeners = [socket.create_server(("127.0.0.1", 0)) for _ in range(2)]
    ports = [listener.getsockname()[1] for listener in listeners]
    pids = []
    for work in (lambda: serve(listeners[0]), lambda: relay(listeners[1], ports[0])):
        pid = os.fork()
        if pid == 0:
            try:
                work()
            finally:
                os._exit(0)
        pids.append(pid)
    tmp = tempfile.mkdtemp(prefix="watch-", dir=common.scratch())
    print(f"{'binary':12}{'bytes':>10}{'direct':>10}{'relay':>10}{'watched':>10}{'detour':>10}{'CPU':>10}")
    try:
        for name, path in common.bins(a.bin):
            for size in map(int, a.sizes.split(",")):
                home = f"{tmp}/{name}-{size}"
                os.makedirs(f"{home}/work")
                env = {**os.environ, "PELLUCID_HOME": home, "HOME": home, "OPENAI_BASE_URL": f"http://127.0.0.1:{ports[0]}/v1",
                       "DIRECT": f"http://127.0.0.1:{ports[0]}/v1", "RELAY": f"http://127.0.0.1:{ports[1]}/v1"}
                argv = [path, "watch", "--", sys.executable, __file__, "--bin", "x=x", "--sizes", str(size), "--n", str(a.n)]
                ran = subprocess.run(argv, cwd=f"{home}/work", env={**env, "BENCH_COMMAND": "1"}, capture_output=True, text=True)
                if ran.returncode != 0:
                    sys.exit(ran.stderr)
                found = json.loads(ran.stdout)
                wall = found["wall"]
                direct, relayed, watched = wall["DIRECT"], wall["RELAY"], wall["OPENAI_BASE_URL"]
                for metric, value in (("direct", direct), ("relay", relayed), ("watched", watched), ("detour", watched - direct), ("detour, cpu", found["cpu"])):
                    figures.add(name, metric, value / 1000, "s", bytes=size)
                cells = (direct, relayed, watched, watched - direct, found["cpu"])
                print(f"{name:12}{size:10,}" + "".join(f"{cell:7.2f} ms" for cell in cells), flush=True)
                shutil.rmtree(home)
        figures.write(a.json)
    finally:
        shutil.rmtree(tmp, ignore_errors=True)
        for pid in pids:
            os.kill(pid, 9)
            os.waitpid(pid, 0)


if __name__ == "__main__":
    if os.environ.get("BENCH_COMMAND"):
        command(int(sys.argv[sys.argv.index("--n") + 1]), int(sys.argv[sys.argv.index("--sizes") + 1]))
    else:
        main()
