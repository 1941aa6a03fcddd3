# SPDX-License-Identifier: Apache-2.0
"""What the live experiments share: a layer of their own, programs, tables.

Everything is in two temporary directories and in processes that are known by their pid: close() ends
and removes all of it, whatever happened before.
"""
import contextlib, json, mmap, os, shutil, struct, subprocess, sys, tempfile, threading

HERE = os.path.dirname(os.path.abspath(__file__))
STARTED, PROGRAM = os.path.abspath(sys.argv[0]), os.path.join(HERE, "experiment.py")
if os.path.dirname(STARTED) == HERE and STARTED != PROGRAM:
    name = os.path.basename(STARTED)
    sys.exit(f"{name} is a part of experiment.py. '{os.path.relpath(PROGRAM)} --help' tells how to run it.")
MIB = 1 << 20


class Lab:
    def __init__(self, args):
        self.sluice, self.args = os.path.abspath(args.sluice), args
        self.tmp = tempfile.mkdtemp(prefix="sluice-experiment-", dir=args.dir)
        self.runtime = tempfile.mkdtemp(prefix="sluice-run-")
        self.root = os.path.join(self.tmp, "root")
        self.env = dict(os.environ, SLUICE_RUNTIME=self.runtime)
        for name in ("SLUICE_JOB_ID", "SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID", "FLUX_JOB_ID", "SLUICE_JOB_CONF"):
            self.env.pop(name, None)
        self.running, self.others = [], []

    def other(self):
        """One more, with a layer that runs beside this one's; closed with it."""
        self.others.append(Lab(self.args))
        return self.others[-1]

    def close(self):
        for lab in self.others:
            lab.close()
        for p in self.running:
            if p.poll() is None:
                p.kill()
            p.wait()
        subprocess.run([self.sluice, "down", "--all", "--if-up"], env=self.env, stdout=subprocess.DEVNULL)
        shutil.rmtree(self.tmp, ignore_errors=True)
        shutil.rmtree(self.runtime, ignore_errors=True)

    def build(self, name):
        """A program beside this file, compiled."""
        out = os.path.join(self.tmp, name)
        if not os.path.exists(out):
            subprocess.run([*os.environ.get("CC", "cc").split(), "-O2", "-D_GNU_SOURCE", "-o", out,
                            os.path.join(HERE, name + ".c")], check=True)
        return out

    def command(self, *words, **kw):
        return subprocess.run([self.sluice, *words], env=self.env, check=True, **kw)

    def ask(self, *words):
        return json.loads(self.command(*words, "--json", stdout=subprocess.PIPE, text=True).stdout)

    @contextlib.contextmanager
    def layer(self, *options):
        """A layer for self.root; gone afterwards, the files are not."""
        shutil.rmtree(self.root, ignore_errors=True)
        os.makedirs(self.root)
        self.command("up", "--charge", "calls", *options, self.root, stdout=subprocess.DEVNULL)
        try:
            yield
        finally:
            for p in self.running:
                if p.poll() is None:
                    p.kill()
                p.wait()
            self.running = []
            self.command("down", stdout=subprocess.DEVNULL)

    def start(self, job, options, command):
        p = subprocess.Popen([self.sluice, "run", "--job", job, *options, "--", *command],
                             env=self.env, stdout=subprocess.PIPE, text=True)
        self.running.append(p)
        return p

    def watch(self, seen, every=0.1):
        """Calls seen(status) of the layer again and again, in a thread, while the layer is there."""
        p = subprocess.Popen([self.sluice, "status", "--json", "--watch", str(every)], env=self.env,
                             stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.running.append(p)

        def read():
            text = ""
            for line in p.stdout:
                text += line
                if line.rstrip() == "}":
                    seen(json.loads(text))
                    text = ""

        thread = threading.Thread(target=read, daemon=True)
        thread.start()
        return p


class Control:
    """What running jobs of stream.c look at: the window in which they count, and the rate of each."""

    def __init__(self, lab):
        self.path = os.path.join(lab.tmp, "control")
        with open(self.path, "wb") as f:
            f.write(bytes(4096))
        with open(self.path, "r+b") as f:
            self.memory = mmap.mmap(f.fileno(), 4096)

    def window(self, start, end):
        struct.pack_into("d", self.memory, 8, end)
        struct.pack_into("d", self.memory, 0, start)  # it counts when this is not 0

    def rate(self, index, bps):
        struct.pack_into("d", self.memory, 8 * (2 + index), bps)


class Stream:
    """One job of stream.c: how to start it, and what it said."""

    def __init__(self, lab, control, name, procs, call, pattern="seq", bytes=0, index=-1):
        self.lab, self.name, self.procs, self.call, self.pattern = lab, name, procs, call, pattern
        self.file = os.path.join(lab.root, name)
        self.command = [lab.build("stream"), str(procs), str(call), pattern, str(bytes), control.path, str(index), self.file]

    def start(self, *options):
        self.process = self.lab.start(self.name, options, self.command)

    def end(self):
        """Waits for it: bytes in the window, bytes in all, begin, end."""
        text = self.process.communicate()[0]
        lines = [l.split()[1:] for l in text.splitlines() if l.startswith("proc ")]
        if self.process.returncode or len(lines) != self.procs:
            sys.exit(f"job {self.name} failed with status {self.process.returncode}")
        self.calls = {int(l[0]): int(l[1]) for l in lines}
        self.requests = sum(self.calls.values())
        self.counted, self.moved = sum(int(l[2]) for l in lines), self.requests * self.call
        self.begin, self.ended = min(float(l[3]) for l in lines), max(float(l[4]) for l in lines)

    def verify(self):
        """What is in its files, read without the layer."""
        for k, calls in self.calls.items():
            if subprocess.run([self.lab.build("stream"), "check", str(self.call), self.pattern, str(k),
                               f"{self.file}.{k}", str(calls)]).returncode:
                sys.exit(f"the contents of {self.file}.{k} are wrong")


def table(heads, rows):
    """Rows of words and numbers under heads; a number has the digits that its head asks for, as 'ms:2'."""
    names = [h.split(":")[0] for h in heads]
    digits = [int(h.split(":")[1]) if ":" in h else None for h in heads]

    def text(value, d):
        return "-" if value is None else value if isinstance(value, str) else f"{value:.{d or 0}f}"

    cells = [names] + [[text(v, d) for v, d in zip(row, digits)] for row in rows]
    width = [max(len(c[i]) for c in cells) for i in range(len(names))]
    for c in cells:
        print("  ".join(c[i].ljust(width[i]) if digits[i] is None else c[i].rjust(width[i])
                        for i in range(len(c))).rstrip())


def said(text):
    print(f"# {text}", file=sys.stderr, flush=True)
