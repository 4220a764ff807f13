"""Child processes in every way that the subprocess module offers."""
import os
import signal
import subprocess
import sys

print(subprocess.check_output(["echo", "plain"]).decode().strip())
print(subprocess.run("echo $((6 * 7)) | cat", shell=True, capture_output=True, text=True).stdout.strip())

done = subprocess.run(["sh", "-c", "cat; echo problem >&2; exit 3"], input=b"fed\n", capture_output=True)
print(done.returncode, done.stdout, done.stderr)

try:
    subprocess.run(["/nonexistent/program"])
except FileNotFoundError as error:
    print("not found", error.errno)
try:
    subprocess.run(["/etc"])
except PermissionError as error:
    print("not permitted", error.errno)

big = b"x" * 1_000_000
echoed = subprocess.run(["cat"], input=big, stdout=subprocess.PIPE).stdout
print("big", len(echoed), echoed == big)

try:
    subprocess.run(["sleep", "10"], timeout=0.2)
except subprocess.TimeoutExpired:
    print("timed out")

child = subprocess.Popen(["sleep", "10"])
child.send_signal(signal.SIGTERM)
print("terminated", child.wait())

first = subprocess.Popen(["seq", "1", "100"], stdout=subprocess.PIPE)
second = subprocess.Popen(["wc", "-l"], stdin=first.stdout, stdout=subprocess.PIPE)
first.stdout.close()
print("piped", second.communicate()[0].strip(), first.wait())

print("cwd", subprocess.check_output(["pwd"], cwd="/usr").strip())
print("env", subprocess.check_output(["sh", "-c", "echo $ONLY"], env={"ONLY": "this"}).strip())
group = subprocess.Popen(["sh", "-c", "echo $$; sleep 10"], stdout=subprocess.PIPE, start_new_session=True)
leader = int(group.stdout.readline())
print("leader", leader == group.pid, os.getsid(group.pid) == group.pid)
os.killpg(group.pid, signal.SIGKILL)
print("killed", group.wait())

reader, writer = os.pipe()
passing = subprocess.Popen(["sh", "-c", f"echo passed >&{writer}"], pass_fds=[writer])
os.close(writer)
print("passed", os.read(reader, 100), passing.wait())

many = [subprocess.Popen([sys.executable, "-c", f"print({n} ** 2)"], stdout=subprocess.PIPE) for n in range(8)]
print("many", [int(process.communicate()[0]) for process in many])

pid = os.fork()
if pid == 0:
    os._exit(17)
print("fork", os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
spawned = os.posix_spawn("/bin/sh", ["sh", "-c", "exit 4"], os.environ)
print("spawn", os.waitstatus_to_exitcode(os.waitpid(spawned, 0)[1]))
print("system", os.waitstatus_to_exitcode(os.system("exit 6")))
print("none left", subprocess.run(["true"]).returncode)
