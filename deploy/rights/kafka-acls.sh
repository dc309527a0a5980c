#!/bin/sh
# Least rights in Kafka: one user for each part, none of them may do more than it does.
# usage: BOOTSTRAP=kafka-1:9093 CONFIG=admin.properties PREFIX=inflight sh kafka-acls.sh
set -eu
: "${BOOTSTRAP:?host:port of a broker}" "${CONFIG:?properties file of an administrator}"
PREFIX=${PREFIX:-inflight}
KAFKA_ACLS=${KAFKA_ACLS:-kafka-acls.sh}

acl() { "$KAFKA_ACLS" --bootstrap-server "$BOOTSTRAP" --command-config "$CONFIG" --add "$@"; }
# DescribeConfigs is for `inflight check --live`, which looks at how much a batch may hold: nothing else needs it.
allow() { # operation user topic...
    operation=$1; user=$2; shift 2
    for topic; do
        acl --allow-principal "User:$user" --operation "$operation" --operation Describe --operation DescribeConfigs \
            --topic "$PREFIX.$topic"
    done
}
writes() { allow Write "$@"; }
reads() { allow Read "$@"; }

writes inflight-probe   samples
writes inflight-collect router broker
reads  inflight-stream  samples windows live attribution events router broker
writes inflight-stream  windows live attribution dead-letters
reads  inflight-export  windows live attribution events router broker
writes inflight-event   events
