#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Fetches the published Java client (the machine's own maven set-up says from
# where) into target/lib and compiles peer/*.java into target/classes. What is
# there already is kept. Needs a JDK and maven, and installs them where it may.
set -euo pipefail
cd "$(dirname "$0")"

missing() { for tool in java javac mvn; do command -v "$tool" >/dev/null 2>&1 || return 0; done; return 1; }

if missing && command -v apt-get >/dev/null 2>&1 && [ "$(id -u)" = 0 ]; then
  export DEBIAN_FRONTEND=noninteractive
  apt-get update -q && apt-get install -y -q --no-install-recommends default-jdk-headless maven
fi
if missing; then
  echo "java, javac and mvn are needed to test against the Java client: install a JDK (11 or later) and maven" >&2
  exit 1
fi

mkdir -p target
if ! cmp -s pom.xml target/pom.fetched; then
  rm -rf target/lib
  mvn -q -B dependency:copy-dependencies
  cp pom.xml target/pom.fetched
fi
rm -rf target/classes
javac -nowarn -encoding UTF-8 -cp 'target/lib/*' -d target/classes peer/*.java
