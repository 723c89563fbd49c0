//! The one table of refusals' names, for programs on the other side of a wire.

use super::Refusal;

/// One row for each refusal.
macro_rules! named {
    ($($variant:ident => $name:literal),* $(,)?) => {
        impl Refusal {
            /// The name of a refusal. It never changes, even if the text does.
            #[must_use]
            pub fn name(&self) -> &'static str {
                match self { $(Self::$variant { .. } => $name),* }
            }
        }
    };
}

named! {
    NoTeam => "no_team",
    TeamExists => "team_exists",
    TeamDeleted => "team_deleted",
    TeammateActive => "teammate_active",
    UnknownMember => "unknown_member",
    NotAMember => "not_a_member",
    MemberExists => "member_exists",
    LeadIsFixed => "lead_is_fixed",
    WiderThanLead => "wider_than_lead",
    WiderThanOwn => "wider_than_own",
    TooManyTeammates => "too_many_teammates",
    TooManyToStart => "too_many_to_start",
    BudgetSpent => "budget_spent",
    AlreadyRunning => "already_running",
    NotRunning => "not_running",
    PlanFirst => "plan_first",
    LeadHeld => "lead_held",
    Superseded => "superseded",
    NobodyLeads => "nobody_leads",
    NoLink => "no_link",
    SelfLink => "self_link",
    LinkDisabled => "link_disabled",
    UnknownTask => "unknown_task",
    AmbiguousTask => "ambiguous_task",
    NotATaskName => "not_a_task_name",
    TaskDeleted => "task_deleted",
    TaskArchived => "task_archived",
    DuplicateTask => "duplicate_task",
    BoardChanged => "board_changed",
    NoMoreNumbers => "no_more_numbers",
    TaskHeld => "task_held",
    TaskTaken => "task_taken",
    TaskBlocked => "task_blocked",
    DependencyEnded => "dependency_ended",
    TaskReserved => "task_reserved",
    TaskRests => "task_rests",
    AwaitsStart => "awaits_start",
    NothingAvailable => "nothing_available",
    WrongStatus => "wrong_status",
    NotHeld => "not_held",
    NotYours => "not_yours",
    LateHolder => "late_holder",
    NotProved => "not_proved",
    AssignmentIsAutomatic => "assignment_is_automatic",
    OnlyMembersHold => "only_members_hold",
    OnlyMembersAsk => "only_members_ask",
    LeadDelegates => "lead_delegates",
    Cycle => "cycle",
    StillNeeded => "still_needed",
    NeedsVersion2 => "first_version_2",
    NoQuestion => "no_question",
    Forbidden => "forbidden",
    UserDenied => "user_denied",
    ChannelDenied => "channel_denied",
    DelegationDenied => "delegation_denied",
    DelegationNeedsTask => "delegation_needs_task",
    UnknownDelegation => "unknown_delegation",
    AlreadyDelegated => "already_delegated",
    DelegationEnded => "delegation_ended",
    LinkFull => "link_full",
    MemberFull => "member_full",
    ToYourself => "to_yourself",
    WrongRecipient => "wrong_recipient",
    NobodyElse => "nobody_else",
    MailboxFull => "mailbox_full",
    UnknownRequest => "unknown_request",
    NotYourRequest => "not_your_request",
    IncompleteResponse => "incomplete_response",
    ReservedKind => "reserved_kind",
    ForgottenOperation => "forgotten_operation",
    Empty => "empty",
    TooLong => "too_long",
    TooMany => "too_many",
    Unprintable => "unprintable",
    PercentOutOfRange => "percent_out_of_range",
    BadSetting => "bad_setting",
    BadPath => "bad_path",
    NothingToChange => "nothing_to_change",
    BadName => "bad_name",
    UnknownWord => "unknown_word",
}
