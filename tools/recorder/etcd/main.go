// etcd with a data directory, a client URL and a peer URL as arguments, without waiting for the disk.
package main

import (
	"fmt"
	"net/url"
	"os"

	"go.etcd.io/etcd/server/v3/embed"
)

func main() {
	cfg := embed.NewConfig()
	cfg.Dir = os.Args[1]
	u, _ := url.Parse(os.Args[2])
	p, _ := url.Parse(os.Args[3])
	cfg.ListenClientUrls = []url.URL{*u}
	cfg.AdvertiseClientUrls = []url.URL{*u}
	cfg.ListenPeerUrls = []url.URL{*p}
	cfg.AdvertisePeerUrls = []url.URL{*p}
	cfg.InitialCluster = cfg.InitialClusterFromName(cfg.Name)
	cfg.UnsafeNoFsync = true
	cfg.LogLevel = "error"
	e, err := embed.StartEtcd(cfg)
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	<-e.Server.ReadyNotify()
	fmt.Println("ready")
	fmt.Println(<-e.Err())
}
