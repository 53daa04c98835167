/** What belongs to running turns and is not there at first: one bundle, so that its parts share what they need. */
export { steeringVerbs } from './actions.ts'
export { Beside } from './composer-banners.tsx'
export { Subagents } from '../transcript/subagents.tsx'
