/** Gives every feature's state to the views below it. */
import type { ComponentChildren } from 'preact'
import type { App } from './app.ts'
import { ChatProvider } from './features/chat/chat-state.ts'
import { ComposerProvider } from './features/composer/composer-state.ts'
import { ModelsProvider } from './features/models/context.ts'
import { ProfilesProvider } from './features/profiles/context.ts'
import { SessionsProvider } from './features/sessions/sessions-state.ts'
import { SettingsProvider } from './features/settings/context.ts'
import { AppContext } from './features/shell/context.ts'
import { ShellProvider } from './features/shell/shell-state.ts'
import { WorkspaceProvider } from './features/workspace/workspace-context.ts'

export const FeaturesProvider = ({ app, children }: { app: App; children: ComponentChildren }) => {
  const { shell, sessions, chat, composer, models, settings, profiles, workspace } = app.features
  return (
    <AppContext.Provider value={app}>
      <ShellProvider value={shell}>
        <SettingsProvider value={settings}>
          <ProfilesProvider value={profiles}>
            <ModelsProvider value={models}>
              <WorkspaceProvider value={workspace}>
                <SessionsProvider value={sessions}>
                  <ChatProvider value={chat}>
                    <ComposerProvider value={composer}>{children}</ComposerProvider>
                  </ChatProvider>
                </SessionsProvider>
              </WorkspaceProvider>
            </ModelsProvider>
          </ProfilesProvider>
        </SettingsProvider>
      </ShellProvider>
    </AppContext.Provider>
  )
}
