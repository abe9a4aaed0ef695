#!/bin/busybox sh
# First process of a guest. The kernel line says who it is: lab.ip, lab.mac, lab.peers=IP@MAC,...
/bin/busybox mkdir -p /proc /sys /dev /tmp /run /config
/bin/busybox mount -t proc proc /proc
/bin/busybox mount -t sysfs sysfs /sys
/bin/busybox mount -t devtmpfs dev /dev
/bin/busybox mount -t tmpfs tmp /tmp
/bin/busybox --install -s /bin
export PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/tmp
for word in $(cat /proc/cmdline); do
  case "$word" in
    lab.*=*) eval "lab_${word#lab.}" ;;
  esac
done
if [ -n "$lab_probe" ]; then
  echo "lab: booted"
  poweroff -f
fi
while read -r module; do
  insmod "/modules/$module" || echo "lab: module $module failed"
done < /modules/order
ulimit -l unlimited
/bin/ip link set lo up
/bin/ip link set eth0 mtu "$lab_mtu" up
/bin/ip address add "$lab_ip/24" dev eth0
for peer in $(echo "$lab_peers" | tr , ' '); do
  /bin/ip neigh replace "${peer%@*}" lladdr "${peer#*@}" nud permanent dev eth0
done
rdma link add rxe0 type rxe netdev eth0 || echo "lab: no soft-RoCE"
mkdir -p /dev/infiniband
# The kernel makes their nodes some time after the module is there, and numbers the devices.
until [ -c /dev/vport*p1 ] && [ -c /dev/vport*p2 ]; do
  usleep 10000
done
# Queue pairs, whenever the host asks.
(
  exec 4<>$(echo /dev/vport*p2)
  while read -r asked <&4; do
    echo "$asked $(rdma -j resource show qp | tr -d '\n')" >&4
  done
) &
# Commands, each in the background: "NUMBER COMMAND", answered by "NUMBER STATUS OUTPUT in base64".
exec 3<>$(echo /dev/vport*p1)
echo "ready 0 $(uname -r | base64)" >&3
while read -r number command <&3; do
  (
    sh -c "$command" > "/tmp/out.$number" 2>&1 < /dev/null
    status=$?
    echo "$number $status $(tail -c 24000 "/tmp/out.$number" | base64 | tr -d '\n')" >&3
  ) &
done
echo "lab: the host has gone"
poweroff -f
