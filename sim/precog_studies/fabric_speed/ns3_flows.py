"""UDP flows through one router in ns-3, for an interpreter that has the package ``ns3``.

Imports nothing of Precog. Prints JSON: events, packets that arrived, CPU seconds of the run.
"""

import argparse
import json
import time
from importlib import import_module
from typing import Any


def main(count: int, packets: int, payload: int, gbps: float) -> None:
    """`count` senders of `packets` packets each, at an even pace that fills `gbps` together."""
    ns: Any = import_module("ns").ns
    nodes = ns.NodeContainer()
    nodes.Create(count + 2)  # senders, receiver, router
    link = ns.PointToPointHelper()
    link.SetDeviceAttribute("DataRate", ns.StringValue("100Gbps"))
    link.SetChannelAttribute("Delay", ns.StringValue("1us"))
    ns.InternetStackHelper().Install(nodes)
    address = ns.Ipv4AddressHelper()
    receiver = None
    for host in range(count + 1):
        pair = ns.NodeContainer()
        pair.Add(nodes.Get(host))
        pair.Add(nodes.Get(count + 1))
        devices = link.Install(pair)
        address.SetBase(ns.Ipv4Address(f"10.{host // 250}.{host % 250}.0"), ns.Ipv4Mask("/24"))
        receiver = address.Assign(devices).GetAddress(0)
    ns.Ipv4GlobalRoutingHelper.PopulateRoutingTables()
    factory = "ns3::UdpSocketFactory"
    to = ns.InetSocketAddress(receiver, 9).ConvertTo()
    sink = ns.PacketSinkHelper(factory, to).Install(nodes.Get(count)).Get(0)
    source = ns.OnOffHelper(factory, to)
    source.SetAttribute("OnTime", ns.StringValue("ns3::ConstantRandomVariable[Constant=1000]"))
    source.SetAttribute("OffTime", ns.StringValue("ns3::ConstantRandomVariable[Constant=0]"))
    each = gbps * payload / (payload + 48) / count
    source.SetAttribute("DataRate", ns.StringValue(f"{round(each * 1e9)}bps"))
    source.SetAttribute("PacketSize", ns.UintegerValue(payload))
    source.SetAttribute("MaxBytes", ns.UintegerValue(packets * payload))
    for host in range(count):
        source.Install(nodes.Get(host)).Start(ns.NanoSeconds(100 * host))
    began = time.process_time()
    ns.Simulator.Run()
    spent = time.process_time() - began
    found = {
        "events": int(ns.Simulator.GetEventCount()),
        "packets": int(sink.GetObject[ns.PacketSink]().GetTotalRx()) // payload,
        "cpu_s": spent,
    }
    print(json.dumps(found))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("count", "packets", "payload"):
        parser.add_argument(name, type=int)
    parser.add_argument("gbps", type=float)
    main(**vars(parser.parse_args()))
