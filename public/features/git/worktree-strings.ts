/** English text of the dialog that moves a chat into a worktree of its own, and of what opens it. */
import { translator } from '../../strings/t.ts'

export const t = translator('git.worktree', {
  title: 'Work in a new worktree',
  menu: 'Work in a new worktree…',
  text: 'This chat moves to a separate copy of the repository on its own branch. Your checkout stays as it is until you merge. Untracked files, ignored files, and submodules aren’t copied.',
  carry: 'Copy uncommitted changes of tracked files',
  create: 'Create worktree',
  'git.branch.name': 'Branch name',
} as const)
