/** The hooks by which a view reads one feature of the page. With type imports only, so that lazily loaded views share one small chunk. */
import type { App } from './app.ts'
import { useApp } from './features/shell/context.ts'

export const useShell = (): App['shell'] => useApp().shell
export const useSessions = (): App['sessions'] => useApp().sessions
export const useSidebar = (): App['sidebar'] => useApp().sidebar
export const useSessionActions = (): App['sessionActions'] => useApp().sessionActions
export const useProjects = (): App['projects'] => useApp().projects
export const useInbox = (): App['inbox'] => useApp().inbox
export const useOutbox = (): App['outbox'] => useApp().outbox
export const useChat = (): App['chat'] => useApp().chat
export const usePane = (): App['pane'] => useApp().pane
export const useComposer = (): App['composer'] => useApp().composer
export const useModels = (): App['models'] => useApp().models
export const useSettings = (): App['settings'] => useApp().settings
export const useProfiles = (): App['profiles'] => useApp().profiles
export const useWorkspaces = (): App['workspaces'] => useApp().workspaces
export const usePanel = (): App['panel'] => useApp().panel
export const useTabs = (): App['tabs'] => useApp().tabs
