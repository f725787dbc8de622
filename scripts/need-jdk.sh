#!/bin/sh
# Is there a JDK that Spark can use? One sentence if not. Spark looks in JAVA_HOME first, then in PATH, and so do we.
java="${JAVA_HOME:+$JAVA_HOME/bin/}java"
major=$("$java" -version 2>&1 | sed -n 's/.* version "\([0-9]*\).*/\1/p' | head -n 1)
if [ "${major:-0}" -lt 17 ]; then
  echo "Penstock runs on Spark, which needs a JDK 17: install it (Debian: apt-get install openjdk-17-jdk-headless) or set JAVA_HOME." >&2
  exit 1
fi
