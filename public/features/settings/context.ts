/** How views reach the settings. */
import { featureContext } from '../../parts/feature-context.ts'
import type { SettingsState } from './settings.ts'

export type SettingsFeature = {
  settings: SettingsState
  /** The address asks for a simulated update, for tests. */
  simulateUpdates: boolean
}

export const { Provider: SettingsProvider, use: useSettings } =
  featureContext<SettingsFeature>('Settings')
