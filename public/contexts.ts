/**
 * One Preact context per feature, with the hook that reads it. All of them are in this file, with type imports only, so that
 * lazily loaded views share one small chunk.
 */
import { createContext, type Provider } from 'preact'
import { useContext } from 'preact/hooks'
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

const feature = <T>(): [Provider<T | null>, () => T] => {
  const context = createContext<T | null>(null)
  const use = (): T => {
    const value = useContext(context)
    if (!value) throw new Error('a view was rendered outside the page')
    return value
  }
  return [context.Provider, use]
}

export const [ShellProvider, useShell] = feature<Shell>()
export const [SessionsProvider, useSessions] = feature<SessionsFeature>()
export const [ChatProvider, useChat] = feature<ChatFeature>()
export const [ComposerProvider, useComposer] = feature<ComposerFeature>()
export const [ModelsProvider, useModels] = feature<ModelsFeature>()
export const [SettingsProvider, useSettings] = feature<SettingsFeature>()
export const [ProfilesProvider, useProfiles] = feature<ProfilesFeature>()
export const [WorkspaceProvider, useWorkspace] = feature<WorkspaceFeature>()
