#!/bin/sh
cd /srv/pd
export DEMO_PORT=@PORT_ROUTER@
export PREFILL_URL=http://127.0.0.1:@PORT_PREFILL@ DECODE_URL=http://127.0.0.1:@PORT_DECODE@
exec /usr/bin/python3 system/router.py
