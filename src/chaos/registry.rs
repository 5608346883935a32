//! The kinds of faults: one line a kind, `file::Type` below `chaos/faults`, in the order of messages and documents.

macro_rules! fault_kinds {
    ($make:ident) => {
        $make! {
            crash::Crash
            kubelet_stop::KubeletStop
            partition::Partition
            not_ready::NotReady
            reboot::Reboot
            graceful_shutdown::GracefulShutdown
            memory_pressure::MemoryPressure
            disk_pressure::DiskPressure
            pid_pressure::PidPressure
            network_unavailable::NetworkUnavailable
            instance_gone::InstanceGone
            spot_interruption::SpotInterruption
            container_crash::ContainerCrash
            oom_kill::OomKill
            pod_kill::PodKill
            image_pull_failure::ImagePullFailure
            control_plane_outage::ControlPlaneOutage
            slow_heartbeats::SlowHeartbeats
            slow_disk::SlowDisk
            slow_network::SlowNetwork
        }
    };
}
