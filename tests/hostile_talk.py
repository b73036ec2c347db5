"""Bytes sent to a socket, and what comes back: for tests with hostile requests."""
import re
import socket


def is_whole(answer, count):
    """Whether that many answers are there."""
    for _ in range(count):
        head, found, answer = answer.partition(b"\r\n\r\n")
        length = re.search(rb"Content-Length: (\d+)", head)
        if not found or not length or len(answer) < int(length[1]):
            return False
        answer = answer[int(length[1]):]
    return True


def talk(where, sent, count=1):
    """All that comes back, until so many answers are whole or the connection ends; what gets no answer within a second is told that
    nothing more will come."""
    answer = b""
    with socket.create_connection(where, timeout=10) as s:
        try:
            s.sendall(sent if isinstance(sent, bytes) else sent.encode("latin-1"))
        except OSError:
            pass  # refused before the end: what was said is there to be read
        s.settimeout(1)
        while not is_whole(answer, count):
            try:
                piece = s.recv(65536)
            except socket.timeout:
                if s.gettimeout() > 1:
                    break
                s.settimeout(5)
                try:
                    s.shutdown(socket.SHUT_WR)
                except OSError:
                    break
                continue
            except OSError:
                break
            if not piece:
                break
            answer += piece
    return answer


def status(answer):
    match = re.match(rb"HTTP/1\.\d (\d+)", answer)
    return int(match[1]) if match else None
