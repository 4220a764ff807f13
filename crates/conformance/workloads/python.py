# What scripts for Python do: files, processes, threads, sockets, locks, time, databases.
import asyncio, ctypes, fcntl, hashlib, http.server, json, mmap, multiprocessing, os, pathlib, pty, resource
import select, selectors, shutil, signal, socket, sqlite3, subprocess, sys, tempfile, threading, time, urllib.request

def files(folder):
    path = pathlib.Path(folder, "a", "b"); path.mkdir(parents=True)
    path.joinpath("file.txt").write_text("one\ntwo\n"); os.symlink("file.txt", path / "link")
    with open(path / "file.txt", "r+b") as file:
        fcntl.flock(file, fcntl.LOCK_EX); fcntl.lockf(file, fcntl.LOCK_EX)
        with mmap.mmap(file.fileno(), 0) as view: view[0:3] = b"ONE"; view.flush()
        file.truncate(4); os.fsync(file.fileno())
    print(sorted(entry.name for entry in os.scandir(path)), os.readlink(path / "link"), (path / "link").read_text())
    shutil.copytree(folder + "/a", folder + "/copy"); os.rename(folder + "/copy", folder + "/moved")
    print(sorted(os.listdir(folder)), os.stat(folder + "/moved/b/file.txt").st_size, shutil.disk_usage(folder).total > 0)
    os.utime(path / "file.txt", (1, 2)); os.chmod(path / "file.txt", 0o600); print(os.stat(path / "file.txt").st_mtime)
    fd = os.memfd_create("m"); os.write(fd, b"memory"); print(os.pread(fd, 3, 1)); os.close(fd)
    base = sqlite3.connect(folder + "/base"); base.execute("create table t(x)"); base.execute("insert into t values (42)")
    base.commit(); print(base.execute("select x from t").fetchall()); base.close()

def processes():
    print(subprocess.run(["sh", "-c", "cat; exit 3"], input=b"in", capture_output=True).returncode)
    child = subprocess.Popen(["sleep", "10"]); child.terminate(); print(child.wait())
    pid = os.fork()
    if pid == 0: os._exit(5)
    print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
    with multiprocessing.get_context("fork").Pool(2) as pool: print(pool.map(abs, [-1, -2]))
    leader, follower = pty.openpty(); os.write(follower, b"tty"); print(os.read(leader, 9), os.isatty(follower))

def threads():
    lock, done = threading.Lock(), threading.Event(); total = [0]
    def work():
        for _ in range(100):
            with lock: total[0] += 1
        done.wait(5)
    started = [threading.Thread(target=work) for _ in range(4)]
    for one in started: one.start()
    done.set()
    for one in started: one.join()
    print(total)

def network(folder):
    with socket.socket(socket.AF_UNIX) as server, socket.socket(socket.AF_UNIX) as client:
        server.bind(folder + "/socket"); server.listen(); client.connect(folder + "/socket")
        peer, _ = server.accept(); client.sendall(b"hello"); print(peer.recv(9)); peer.close()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as a, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as b:
        a.bind(("127.0.0.1", 0)); b.sendto(b"datagram", a.getsockname()); print(a.recvfrom(99)[0])
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self): self.send_response(200); self.end_headers(); self.wfile.write(b"page")
        def log_message(self, *_): pass
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        print(opener.open(f"http://127.0.0.1:{server.server_port}/").read()); server.shutdown()

async def asynchronous():
    child = await asyncio.create_subprocess_exec("cat", stdin=-1, stdout=-1)
    print((await child.communicate(b"async"))[0])
    async def serve(reader, writer): writer.write((await reader.readline()).upper()); writer.close()
    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname()); writer.write(b"line\n")
    print(await reader.read()); writer.close(); server.close()
    print(await asyncio.wait_for(asyncio.get_running_loop().run_in_executor(None, sum, [1, 2]), 5))

def signals():
    got = []; signal.signal(signal.SIGALRM, lambda number, _: got.append(number)); signal.setitimer(signal.ITIMER_REAL, 0.01)
    while not got: time.sleep(0.01)
    os.kill(os.getpid(), signal.SIGALRM); print(got)
    reader, writer = os.pipe(); poll = select.epoll(); poll.register(reader, select.EPOLLIN); os.write(writer, b"x")
    print(poll.poll(1)[0][1], select.select([reader], [], [], 1)[0] == [reader]); select.poll().register(reader)

with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    for step in (lambda: files(folder), processes, threads, lambda: network(folder), signals): step()
    asyncio.run(asynchronous()); os.chdir("/")
print(hashlib.sha256(b"x").hexdigest()[:8], json.loads("[1]"), len(os.urandom(8)), resource.getrlimit(resource.RLIMIT_NOFILE)[0] > 0)
print(ctypes.CDLL(None).abs(-3), time.monotonic() > 0, os.cpu_count() > 0, len(os.sched_getaffinity(0)) > 0, os.uname().sysname, sys.argv[1:])
