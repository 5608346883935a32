//! Tables of what the server refuses.
