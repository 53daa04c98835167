/** Lazily loaded parts of running turns, in one chunk because they share code. */
export { steeringActions } from './actions.ts'
export { ComposerBanners } from './composer-banners.tsx'
