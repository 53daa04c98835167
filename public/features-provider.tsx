/** Gives every feature's state to the views below it. */
import type { ComponentChildren } from 'preact'
import type { App } from './app.ts'
import { AppContext } from './features/shell/context.ts'
import {
  ChatProvider,
  ComposerProvider,
  ModelsProvider,
  ProfilesProvider,
  SessionsProvider,
  SettingsProvider,
  ShellProvider,
  WorkspaceProvider,
} from './contexts.ts'

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
