//! Real daemons in networks that the test makes: they find each other by mDNS alone, and send nothing else beyond.
//!
//! Where this machine lets nobody make network namespaces, these tests say so and are skipped.

mod internet;
mod meet;
mod quiet;
mod watch;
