//! Two machines and the network between them and a database: network namespaces, each with a link of its own. Only root can
//! make them.

use std::net::Ipv4Addr;

use anyhow::{Context as _, Result, bail, ensure};

/// How many links there may be at once, of all campaigns of this machine.
const N_LINKS: u16 = 2_000;
/// Links have four addresses each, from here on.
const FIRST: Ipv4Addr = Ipv4Addr::new(10, 199, 0, 0);

/// Whether machines can be made here.
pub(crate) async fn can_connect() -> bool {
    match MachineLink::make().await {
        Ok(link) => {
            link.remove().await;
            true
        }
        Err(_) => false,
    }
}

/// A machine with a link to this one.
#[derive(Debug)]
pub(crate) struct MachineLink {
    /// The name of its namespace, and of this end of its link.
    name: String,
    /// The address by which it reaches this machine.
    pub(crate) address: Ipv4Addr,
}

impl MachineLink {
    pub(crate) async fn make() -> Result<Self> {
        for nth in 0..N_LINKS {
            let name = format!("troop{nth}");
            match ip(&["netns", "add", &name]).await {
                Ok(()) => {}
                // It belongs to another trial.
                Err(error) if error.to_string().contains("File exists") => continue,
                Err(error) => return Err(error),
            }
            let address = Ipv4Addr::from_bits(FIRST.to_bits() + 4 * u32::from(nth) + 1);
            let link = Self { name, address };
            return match link.connect().await {
                Ok(()) => Ok(link),
                Err(error) => {
                    link.remove().await;
                    Err(error)
                }
            };
        }
        bail!("all {N_LINKS} links are taken; `ip netns list` names them")
    }

    async fn connect(&self) -> Result<()> {
        let Self { name, address } = self;
        let other = Ipv4Addr::from_bits(address.to_bits() + 1);
        let [here, there] = [*address, other].map(|it| format!("{it}/30"));
        ip(&["link", "add", name, "type", "veth", "peer", "name", "uplink", "netns", name]).await?;
        ip(&["address", "add", &here, "dev", name]).await?;
        ip(&["-n", name, "address", "add", &there, "dev", "uplink"]).await?;
        ip(&["-n", name, "link", "set", "lo", "up"]).await?;
        ip(&["-n", name, "link", "set", "uplink", "up"]).await?;
        self.restore().await
    }

    /// What to put before a command, so that it runs on that machine.
    pub(crate) fn prefix(&self) -> [&str; 4] {
        ["ip", "netns", "exec", &self.name]
    }

    /// Nothing comes through any more, and nobody on that machine is told.
    pub(crate) async fn cut(&self) -> Result<()> {
        ip(&["link", "set", &self.name, "down"]).await
    }

    /// The link is as before.
    pub(crate) async fn restore(&self) -> Result<()> {
        ip(&["link", "set", &self.name, "up"]).await
    }

    /// Removes the machine with its link. What still runs there has no network.
    pub(crate) async fn remove(self) {
        // A name that stays is passed over.
        drop(ip(&["link", "delete", &self.name]).await);
        drop(ip(&["netns", "delete", &self.name]).await);
    }
}

async fn ip(arguments: &[&str]) -> Result<()> {
    let mut command = troop_process::command("ip");
    let output = command.args(arguments).output().await.context("`ip` cannot be run")?;
    ensure!(
        output.status.success(),
        "`ip {}`: {}",
        arguments.join(" "),
        String::from_utf8_lossy(&output.stderr).trim()
    );
    Ok(())
}
