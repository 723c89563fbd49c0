//! `troop trust`

#[derive(Debug, clap::Args)]
pub(crate) struct TrustArgs {
    /// Only show what would run, and whether it is allowed to
    #[arg(long, conflicts_with_all = ["revoke", "yes"])]
    pub(crate) show: bool,
    /// Revoke trust
    #[arg(long, conflicts_with = "yes")]
    pub(crate) revoke: bool,
    /// Do not ask
    #[arg(long, short)]
    pub(crate) yes: bool,
}
