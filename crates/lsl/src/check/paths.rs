//! Paths through the statements of a function, by the rules of Second Life, which look at the last statement of each branch only.

use crate::Span;
use crate::syntax::{Script, StmtId, StmtKind, StmtList};

/// True if the last statement is `return`, or an `if` whose branches all end with one.
pub(super) fn all_return(script: &Script, body: StmtList) -> bool {
    let mut open: Vec<StmtId> = Vec::new();
    let last = |list: StmtList| script.stmt_list(list).last().copied();
    let Some(end) = last(body) else { return false };
    open.push(end);
    while let Some(id) = open.pop() {
        match script.stmt(id).kind {
            StmtKind::Return(_) => {}
            StmtKind::Block(list) => match last(list) {
                Some(end) => open.push(end),
                None => return false,
            },
            StmtKind::If { then, otherwise: Some(otherwise), .. } => open.extend([then, otherwise]),
            _ => return false,
        }
    }
    true
}

/// The first statement of each block that follows on `return`, `jump` or `state` without a label.
pub(super) fn unreachable(script: &Script, body: StmtList) -> Vec<Span> {
    let mut spans = Vec::new();
    let mut open = vec![body];
    while let Some(list) = open.pop() {
        let stmts = script.stmt_list(list);
        for pair in stmts.windows(2) {
            let [former, next] = [pair[0], pair[1]].map(|id| script.stmt(id));
            let leaves =
                matches!(former.kind, StmtKind::Return(_) | StmtKind::Jump(_) | StmtKind::ChangeState { .. });
            if leaves && !matches!(next.kind, StmtKind::Label(_) | StmtKind::Empty) {
                spans.push(next.span);
                break;
            }
        }
        let mut inner: Vec<StmtId> = stmts.to_vec();
        while let Some(id) = inner.pop() {
            match script.stmt(id).kind {
                StmtKind::Block(list) => open.push(list),
                StmtKind::If { then, otherwise, .. } => {
                    inner.extend([Some(then), otherwise].into_iter().flatten())
                }
                StmtKind::While { body, .. }
                | StmtKind::DoWhile { body, .. }
                | StmtKind::For { body, .. } => inner.push(body),
                _ => {}
            }
        }
    }
    spans
}
