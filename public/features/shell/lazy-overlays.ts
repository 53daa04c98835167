/** What is opened by hand, dialogs and lists: one bundle. */
export { Palette } from './palette.tsx'
export { ChipPopover } from '../composer/pickers.tsx'
export { ProjectDialogs } from '../projects/project-dialogs.tsx'
export { Shortcuts } from './shortcuts.tsx'
