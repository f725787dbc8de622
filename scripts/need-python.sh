#!/bin/sh
# Is this Python new enough, and can it make a virtual environment? One sentence if not.
python="$1"
if ! "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
  found=$("$python" --version 2>&1) || found="no $python"
  echo "Penstock needs Python 3.11 or newer, and here is $found: install one, or say make PYTHON=/path/to/python3.11." >&2
  exit 1
fi
if ! "$python" -c 'import ensurepip, venv' 2>/dev/null; then
  echo "Penstock sets up a virtual environment, and $python cannot make one: install it (Debian: apt-get install python3-venv)." >&2
  exit 1
fi
