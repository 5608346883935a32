//! Kubelets on a bench.
