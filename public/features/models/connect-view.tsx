/** Connecting the first model: what was found, what can be added, one real call to try it, and then it starts. */
import { useSignal } from '@preact/signals'
import { useEffect, useId } from 'preact/hooks'
import { Button } from '../../parts/button.tsx'
import { Dialog } from '../../parts/dialog.tsx'
import { type Connect, connectOf, type Offer } from './connect.ts'
import { providersOf } from './providers.ts'
import { tp } from './strings.ts'
import { useApp } from '../shell/context.ts'
import { Verdict } from './models-view.tsx'

const Choice = ({ offer, room }: { offer: Offer; room: Connect }) => (
  <label class="source">
    <input
      type="radio"
      name="source"
      class="sr-only"
      checked={room.chosen.value === offer.id}
      onChange={() => room.choose(offer.id)}
    />
    <span class="source-box">
      <span class="key-name">{offer.name}</span>
      <span class="field-hint">{offer.text}</span>
    </span>
  </label>
)

const Offers = ({ title, list, room }: { title: string; list: readonly Offer[]; room: Connect }) =>
  list.length === 0 ? null : (
    <fieldset class="sources">
      <legend>{title}</legend>
      {list.map(offer => (
        <Choice key={offer.id} offer={offer} room={room} />
      ))}
    </fieldset>
  )

const Fields = ({ offer, room }: { offer: Offer; room: Connect }) => {
  const id = useId()
  return (
    <div class="form key-form">
      {offer.needsAddress && (
        <>
          <label for={`${id}-url`}>{tp('setup.base_url')}</label>
          <input
            id={`${id}-url`}
            class="input"
            type="url"
            autocomplete="off"
            placeholder={tp('setup.base_url.hint')}
            value={room.address.value}
            onInput={event => room.type('address', event.currentTarget.value)}
          />
        </>
      )}
      {!offer.server && (
        <>
          <label for={`${id}-key`}>{tp('add.key')}</label>
          <input
            id={`${id}-key`}
            class="input"
            type="password"
            autocomplete="off"
            spellcheck={false}
            aria-describedby={offer.hasKey ? `${id}-hint` : undefined}
            value={room.key.value}
            onInput={event => room.type('key', event.currentTarget.value)}
          />
          {offer.hasKey && (
            <p id={`${id}-hint`} class="field-hint">
              {tp('setup.key.there')}
            </p>
          )}
        </>
      )}
      <label for={`${id}-model`}>{tp('setup.model')}</label>
      {offer.models.length > 0 ? (
        <select
          id={`${id}-model`}
          class="select"
          value={room.model.value}
          onChange={event => room.type('model', event.currentTarget.value)}
        >
          {offer.models.map(model => (
            <option key={model.id} value={model.id} selected={model.id === room.model.value}>
              {model.label}
            </option>
          ))}
        </select>
      ) : (
        <input
          id={`${id}-model`}
          class="input"
          autocomplete="off"
          spellcheck={false}
          value={room.model.value}
          onInput={event => room.type('model', event.currentTarget.value)}
        />
      )}
    </div>
  )
}

export const ConnectDialog = () => {
  const app = useApp()
  const providers = providersOf(app)
  const room = connectOf(app)
  const busy = useSignal(false)
  useEffect(() => void app.attempt(() => room.load()), [])
  const offer = room.offer.value
  const said = providers.tests.value.connect
  const start = async (event: Event, over = false) => {
    event.preventDefault()
    if (busy.value || !room.ready.value) return
    busy.value = true
    await app.attempt(() => room.start({ over }))
    busy.value = false
  }
  const close = () => {
    app.onboarding.open.value = false
  }
  return (
    <Dialog title={tp('setup.title')} closeLabel={tp('setup.close')} onClose={close}>
      <form class="connect" onSubmit={event => void start(event)}>
        <p class="settings-lead">{tp('setup.lead')}</p>
        {room.loaded.value ? (
          <>
            <Offers title={tp('setup.found')} list={room.found.value} room={room} />
            <Offers title={tp('setup.other')} list={room.others.value} room={room} />
            {offer && <Fields key={offer.id} offer={offer} room={room} />}
          </>
        ) : (
          <p class="view-note">{tp('loading')}</p>
        )}
        <Verdict said={said} />
        {room.asking.value && (
          <div class="connect-ask" role="alert">
            <p>{tp('setup.confirm')}</p>
            <Button onClick={event => void start(event, true)}>{tp('setup.confirm.yes')}</Button>
          </div>
        )}
        <div class="form-actions">
          <Button kind="quiet" onClick={() => void app.attempt(() => app.onboarding.skip())}>
            {tp('setup.skip')}
          </Button>
          <Button
            disabled={!room.ready.value || said?.busy === true}
            onClick={() => void room.test()}
          >
            {tp('setup.test')}
          </Button>
          <Button kind="primary" type="submit" disabled={!room.ready.value || busy.value}>
            {tp(busy.value ? 'setup.starting' : 'setup.start')}
          </Button>
        </div>
      </form>
    </Dialog>
  )
}
