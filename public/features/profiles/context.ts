/** How views reach the profiles. */
import { featureContext } from '../../parts/feature-context.ts'
import type { ProfileActions } from './actions.ts'
import type { Profiles } from './profiles.ts'

export type ProfilesFeature = ProfileActions & { profiles: Profiles }

export const { Provider: ProfilesProvider, use: useProfiles } =
  featureContext<ProfilesFeature>('Profiles')
