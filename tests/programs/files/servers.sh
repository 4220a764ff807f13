#!/bin/sh
# Starts redis, nginx, PostgreSQL and node, and lets their clients work, all at one time. Prints
# what must be the same wherever it runs.
#
# The ports are below those that clients get by themselves: one of a thousand connections would
# have a server's port now and then.
set -eu
if [ "$(id -u)" = 0 ]; then
    # PostgreSQL refuses root.
    exec setpriv --reuid=nobody --regid=nogroup --clear-groups env HOME=/tmp sh -s <"$0"
fi
cd "$(mktemp -d)"
folder=$PWD
trap 'kill $(jobs -p) 2>/dev/null || true; rm -rf "$folder"' EXIT
PATH=$(ls -d /usr/lib/postgresql/*/bin | tail -n 1):/usr/sbin:$PATH

# Waits until a command succeeds, for a minute.
until_works() {
    for _ in $(seq 600); do
        if "$@" >/dev/null 2>&1; then return; fi
        sleep 0.1
    done
    echo "does not work: $*"
    return 1
}

redis() {
    redis-server --port 17001 --save '' --appendonly no --dir "$folder" >redis.log 2>&1 &
    server=$!
    until_works redis-cli -p 17001 ping
    redis-benchmark -p 17001 -n 4000 -c 20 -P 1 -t set,get,incr,lpush --csv >redis.csv 2>redis.errors
    sed 's/,.*//' redis.csv
    cat redis.errors
    redis-cli -p 17001 llen mylist
    redis-cli -p 17001 shutdown nosave
    wait $server
}

nginx_and_wrk() {
    mkdir html
    echo hello >html/index.html
    head -c 100000 /dev/zero >html/big
    cat >nginx.conf <<CONF
worker_processes 2;
pid $folder/nginx.pid;
daemon off;
events { worker_connections 512; }
http {
    access_log off;
    sendfile on;
    client_body_temp_path $folder/body;
    proxy_temp_path $folder/proxy;
    fastcgi_temp_path $folder/fastcgi;
    uwsgi_temp_path $folder/uwsgi;
    scgi_temp_path $folder/scgi;
    server { listen 127.0.0.1:17002; root $folder/html; }
}
CONF
    nginx -p "$folder" -e "$folder/nginx.log" -c "$folder/nginx.conf" &
    server=$!
    until_works test -s nginx.pid
    for page in index.html big; do
        wrk -t 2 -c 50 -d 1 "http://127.0.0.1:17002/$page" >wrk.log
        # Any error that wrk has met.
        grep -E 'Socket errors|Non-2xx' wrk.log || echo "$page: no errors"
        awk '/requests in/ { print ($1 > 100 ? "many" : "few"), "requests" }' wrk.log
    done
    kill -QUIT $server
    wait $server
    cat nginx.log
}

postgres() {
    initdb -D data -A trust -U tester --no-sync >initdb.log
    options="-p 17003 -k $folder -c listen_addresses=127.0.0.1 -c fsync=off"
    pg_ctl -D data -w -t 60 -o "$options" -l postgres.log start >/dev/null
    pgbench -h 127.0.0.1 -p 17003 -U tester -i -q postgres 2>pgbench.log
    pgbench -h "$folder" -p 17003 -U tester -c 4 -j 2 -t 50 postgres 2>>pgbench.log >pgbench.out
    grep -E 'actually processed|failed' pgbench.out
    psql -h 127.0.0.1 -p 17003 -U tester -Atc 'select count(*) from pgbench_history' postgres
    # A smart stop: a fast one may meet the last client's process still on its way out, and complains about it.
    pg_ctl -D data -w stop -m smart >/dev/null
    grep -E 'ERROR|FATAL|PANIC|WARNING' postgres.log || echo "postgres: no complaint"
}

node_with_500() {
    cat >server.js <<'JS'
const http = require('http');
const server = http.createServer((request, response) => response.end('x'.repeat(100)));
const connections = new Set();
server.on('connection', (connection) => connections.add(connection));
server.listen(17004, '127.0.0.1', 1024, () => {
  const agent = new http.Agent({ keepAlive: true, maxSockets: 500 });
  let good = 0, bad = 0, left = 500 * 5;
  const ended = (isGood, rounds) => {
    if (isGood) good++; else bad++;
    if (--left === 0) {
      console.log(`node: ${good} answers, ${bad} errors, ${connections.size} connections`);
      agent.destroy();
      server.close();
    }
    ask(rounds - 1);
  };
  const ask = (rounds) => {
    if (rounds === 0) return;
    http.get({ agent, host: '127.0.0.1', port: 17004 }, (response) => {
      let length = 0;
      response.on('data', (data) => { length += data.length; });
      response.on('end', () => ended(length === 100, rounds));
    }).on('error', () => ended(false, rounds));
  };
  for (let i = 0; i < 500; i++) ask(5);
});
JS
    node server.js
}

start() {
    "$1" >"$1.out" 2>&1 &
    echo "$1 $!" >>started
}

start redis
start nginx_and_wrk
start postgres
start node_with_500
code=0
while read -r name process; do
    if wait "$process"; then echo "$name: ended well"; else
        echo "$name: FAILED"
        code=1
    fi
    cat "$name.out"
done <started
exit $code
