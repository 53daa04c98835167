/** What the composer offers above itself: commands, or files of the workspace. */
import { useEffect } from 'preact/hooks'
import { Icon } from '../../parts/icon.tsx'
import type { Offer } from './completion.ts'
import { t } from '../../strings/t.ts'
import { useApp } from '../shell/context.ts'

export const COMPLETION_ID = 'completion'
export const offerId = (index: number): string => `${COMPLETION_ID}-${index}`

const OfferLine = ({ offer }: { offer: Offer }) =>
  offer.kind === 'command' ? (
    <>
      <span class="offer-name">/{offer.name}</span>
      {offer.argument && <span class="offer-argument">{offer.argument}</span>}
      <span class="offer-summary">{offer.summary}</span>
    </>
  ) : (
    <>
      <Icon name={offer.directory ? 'folder' : 'file'} size={16} />
      <span class="offer-path">{offer.path}</span>
    </>
  )

export const CompletionList = ({ onTake }: { onTake: (index: number) => void }) => {
  const { completion } = useApp()
  const offers = completion.offers.value
  const active = completion.active.value
  useEffect(() => {
    document.getElementById(offerId(active))?.scrollIntoView({ block: 'nearest' })
  }, [active, offers])
  if (offers.length === 0) return null
  const label = t(offers[0]?.kind === 'command' ? 'composer.commands' : 'composer.files')
  return (
    <div id={COMPLETION_ID} class="offers" role="listbox" aria-label={label}>
      {offers.map((offer, index) => (
        // biome-ignore lint/a11y/useKeyWithClickEvents: the keys are handled in the message box
        <div
          key={offer.kind === 'command' ? offer.name : offer.path}
          id={offerId(index)}
          class="offer"
          role="option"
          tabIndex={-1}
          aria-selected={index === active}
          onMouseMove={() => {
            completion.active.value = index
          }}
          // The message box must keep the focus.
          onMouseDown={event => event.preventDefault()}
          onClick={() => onTake(index)}
        >
          <OfferLine offer={offer} />
        </div>
      ))}
    </div>
  )
}
