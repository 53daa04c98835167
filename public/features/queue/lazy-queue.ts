/** What belongs to running turns and is not there at first: one bundle, so that its parts share what they need. */
export { steeringActions } from './actions.ts'
export { ComposerBanners } from './composer-banners.tsx'
export { Subagents } from '../transcript/subagents.tsx'
