#!/bin/bash
# Serves decode, beside prefill.
set -eu
cd "$(dirname "$0")"
export DEMO_PORT=@PORT_DECODE@ PREFILL_URL="http://127.0.0.1:@PORT_PREFILL@"
export DEMO_INDEX_WIDTH=64
DEMO_MTP=1 DEMO_OPT_USE_TOPK_V2=1 \
    exec /usr/bin/python3 system/decode.py
