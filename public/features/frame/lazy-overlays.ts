/** Lazily loaded dialogs and pickers, in one chunk. */
export { ProjectDialogs } from '../projects/project-dialogs.tsx'
export { SignIn } from '../sign-in/sign-in.tsx'
export { Shortcuts } from './shortcuts.tsx'
export { Confirm } from './confirm.tsx'
