"""Sockets among threads and processes of one sandbox."""
import array
import http.server
import os
import select
import selectors
import socket
import threading
import urllib.request

left, right = socket.socketpair()
left.sendall(b"pair")
print(right.recv(10))
right.close()
print("end", left.recv(10))

server = socket.create_server(("127.0.0.1", 0))
port = server.getsockname()[1]


def echo():
    connection, _ = server.accept()
    with connection:
        while data := connection.recv(65536):
            connection.sendall(data)


thread = threading.Thread(target=echo)
thread.start()
with socket.create_connection(("127.0.0.1", port)) as client:
    client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    sent = os.urandom(500_000)
    sender = threading.Thread(target=lambda: (client.sendall(sent), client.shutdown(socket.SHUT_WR)))
    sender.start()
    received = b""
    while part := client.recv(65536):
        received += part
    sender.join()
print("echoed", received == sent)
thread.join()
server.close()

try:
    socket.create_connection(("127.0.0.1", port), timeout=1)
except ConnectionRefusedError as error:
    print("refused", error.errno)

one, two = (socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(2))
one.bind(("127.0.0.1", 0))
two.sendto(b"datagram", one.getsockname())
print(one.recvfrom(100)[0])

named = socket.socket(socket.AF_UNIX)
named.bind("named.sock")
named.listen()
client = socket.socket(socket.AF_UNIX)
client.connect("named.sock")
peer, _ = named.accept()
reader, writer = os.pipe()
client.sendmsg([b"fd"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [writer]))])
message, ancillary, _, _ = peer.recvmsg(10, socket.CMSG_SPACE(4))
passed = array.array("i", ancillary[0][2][:4])[0]
os.write(passed, b"over a passed descriptor")
print(message, os.read(reader, 100))
os.unlink("named.sock")

poller = select.epoll()
left, right = socket.socketpair()
poller.register(left, select.EPOLLIN | select.EPOLLET)
print("quiet", poller.poll(0.01))
right.send(b"x")
print("ready", poller.poll(1) == [(left.fileno(), select.EPOLLIN)], poller.poll(0.01))
selector = selectors.PollSelector()
selector.register(left, selectors.EVENT_READ | selectors.EVENT_WRITE)
print("selected", selector.select(1)[0][1])


class Quiet(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        body = f"you asked for {self.path}".encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments):
        pass


web = http.server.ThreadingHTTPServer(("localhost", 0), Quiet)
threading.Thread(target=web.serve_forever).start()
print(urllib.request.urlopen(f"http://localhost:{web.server_port}/page").read())
web.shutdown()
web.server_close()
