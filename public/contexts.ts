/** The features of the page, and the hooks by which views read one of them. With type imports only, so that lazily loaded views share one small chunk. */
import type { ReadonlySignal } from '@preact/signals'
import type { Transcript } from './features/chat/transcript.ts'
import type { SessionChoices } from './features/chat/session-choices.ts'
import type { TurnActions } from './features/chat/turn-actions.ts'
import type { ComposerFeature } from './features/composer/composer-state.ts'
import type { Models } from './features/models/models.ts'
import type { Onboarding } from './features/models/onboarding.ts'
import type { ProfileActions } from './features/profiles/actions.ts'
import type { Profiles } from './features/profiles/profiles.ts'
import type { Queue } from './features/queue/queue.ts'
import type { SessionActions } from './features/sessions/actions.ts'
import type { SessionsBase } from './features/sessions/sessions-state.ts'
import type { SettingsState } from './features/settings/settings.ts'
import { useApp } from './features/shell/context.ts'
import type { Shell } from './features/shell/shell-state.ts'
import type { Panel } from './features/workspace/panel.ts'
import type { Workspaces } from './features/workspace/workspaces.ts'

export type SessionsFeature = SessionsBase & SessionActions
export type ChatFeature = TurnActions &
  SessionChoices & {
    chat: Transcript
    queue: Queue
    /** The client's id of the chat. */
    key: string
    /** A pane shows it. */
    isShown: ReadonlySignal<boolean>
    newChat: () => void
    /** Opens a session after a request, unless the person has gone elsewhere. */
    follow: (id: string) => void
    /** Puts the cursor into its composer, when it is shown. */
    focusComposer: () => void
    /** Marks the chat as read. */
    markRead: () => void
  }
export type ModelsFeature = { models: Models; onboarding: Onboarding }
export type ProfilesFeature = ProfileActions & { profiles: Profiles }
export type SettingsFeature = {
  settings: SettingsState
  /** The address asks for a simulated update, for tests. */
  simulateUpdates: boolean
}
export type WorkspaceFeature = { panel: Panel; workspaces: Workspaces }

/** What a view reads of the page: each hook shows one feature of its `App`. */
export const useShell: () => Shell = useApp
export const useSessions: () => SessionsFeature = useApp
export const useChat: () => ChatFeature = useApp
export const useComposer: () => ComposerFeature = useApp
export const useModels: () => ModelsFeature = useApp
export const useSettings: () => SettingsFeature = useApp
export const useProfiles: () => ProfilesFeature = useApp
export const useWorkspace: () => WorkspaceFeature = useApp
