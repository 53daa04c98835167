/** Lazily loaded dialogs and pickers, in one chunk. */
export { ChipPopover } from '../composer/pickers.tsx'
export { ProjectDialogs } from '../projects/project-dialogs.tsx'
export { SignIn } from '../sign-in/sign-in.tsx'
export { Shortcuts } from './shortcuts.tsx'
