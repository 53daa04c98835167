#!/bin/sh
# Runs a command (after REPOSITORY and HOME of the caller) on what looks like a computer of its own, because commands of a
# corpus that a guard lets through are executed for real: own processes, own network (loopback and the address 203.0.113.7
# with any port), nothing of this computer writable, a user without rights whose home is /home/ada.
set -eu
if [ "$1" != inside ]; then
  own='--user --map-user=1000 --map-group=1000 --keep-caps'
  [ "$(id -u)" != 0 ] || own=
  exec unshare $own --mount --pid --fork --kill-child --net --ipc --mount-proc sh "$0" inside "$(id -u)" "$@"
fi
uid=$2 repository=$3 caller=$4
shift 4

mount --make-rprivate /
ip link set lo up
ip address add 203.0.113.7/32 dev lo
echo 0 > /proc/sys/net/ipv4/ip_unprivileged_port_start

mount -t tmpfs -o mode=755 none /mnt
mkdir /mnt/repository /mnt/pristine
mount --bind "$repository" /mnt/repository
printf '127.0.0.1 localhost\n::1 localhost\n203.0.113.7 %s\n' \
  'evil.example x.example example.com registry.npmjs.org pypi.org files.pythonhosted.org github.com crates.io index.crates.io' > /mnt/hosts
mount --bind /mnt/hosts /etc/hosts
tools=
for name in .cargo .rustup; do
  [ ! -d "$caller/$name" ] || { mkdir "/mnt/$name" && mount --bind "$caller/$name" "/mnt/$name" && tools="$tools $name"; }
done
for directory in /home /root /tmp /var/tmp /run /dev/shm; do
  mount -t tmpfs -o mode=1777,size=2g none "$directory"
done
mkdir -p "$repository" /home/ada
mount --bind /mnt/repository "$repository"
for name in $tools; do
  mkdir "/home/ada/$name" && mount --bind -o ro "/mnt/$name" "/home/ada/$name"
done
mount -o remount,bind,ro "$repository" 
mount -o remount,bind,ro / 2> /dev/null || true
chmod 1777 /mnt/pristine
chown 1000:1000 /home/ada
ulimit -c 0
ulimit -f 200000
[ "$uid" != 0 ] || user='--reuid=1000 --regid=1000 --clear-groups'
exec setpriv ${user:-} --ambient-caps=-all --inh-caps=-all --bounding-set=-all "$@"
