/** What the page says about its connection and configuration; loaded after the first content. */
export { ConfigProblemBar } from './config-problem-bar.tsx'
export { ConnectionPill } from './connection-pill.tsx'
export { workspaceKeys } from './workspace-keys.ts'
export { Dock } from '../panel/dock.ts'
