// SPDX-License-Identifier: Apache-2.0

// A shop on net/http in layers: types as middleware, a router of its own in front of others, handlers that know no HTTP.
//
//go:debug httpmuxgo121=0
package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"example.org/shop/internal/app"
	"example.org/shop/internal/report"
	"example.org/shop/internal/search"
	"example.org/shop/internal/store"
)

// counter counts what passes.
type counter struct {
	next  http.Handler
	total atomic.Int64
}

func (c *counter) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.total.Add(1)
	c.next.ServeHTTP(w, r)
}

// prefixes is a router by the first part of a path.
type prefixes map[string]http.Handler

func (p prefixes) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	first, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	if next, found := p[first]; found {
		next.ServeHTTP(w, r)
		return
	}
	http.NotFound(w, r)
}

// endpoint is business code: bytes in, a value out.
type endpoint interface {
	Answer(ctx context.Context, body []byte) (any, error)
}

type rpc struct{ endpoint }

func (h rpc) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	answer, err := h.Answer(r.Context(), body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	_ = json.NewEncoder(w).Encode(answer)
}

type placeOrder struct{ orders *store.Table[*store.Order] }

func (p *placeOrder) Answer(_ context.Context, body []byte) (any, error) {
	order := &store.Order{}
	if err := json.Unmarshal(body, order); err != nil {
		return nil, err
	}
	if order.Customer == "" {
		return nil, errors.New("whose order?")
	}
	return p.orders.Put(order), nil
}

type addReview struct{ index *search.Index }

func (a addReview) Answer(_ context.Context, body []byte) (any, error) {
	var review store.Review
	if err := json.Unmarshal(body, &review); err != nil {
		return nil, err
	}
	return a.index.Add(review.Text), nil
}

type site struct {
	sessions *store.Sessions
	reports  *report.Reports
	pictures store.Cache
	events   *store.History[[]store.Event]
}

func (s *site) login(w http.ResponseWriter, r *http.Request) {
	var login store.Login
	if json.NewDecoder(r.Body).Decode(&login) != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	_, _ = io.WriteString(w, s.sessions.Open(login.User))
}

func (s *site) report(w http.ResponseWriter, r *http.Request) {
	_, _ = w.Write(s.reports.Sales(r.PathValue("month")))
}

func (s *site) picture(w http.ResponseWriter, r *http.Request) {
	data := report.Thumbnail(len(r.URL.Path), 190)
	s.pictures.Put(r.URL.Path, data)
	_, _ = w.Write(data)
}

func (s *site) collect(w http.ResponseWriter, r *http.Request) {
	var events []store.Event
	if json.NewDecoder(r.Body).Decode(&events) == nil {
		s.events.Add(events)
	}
	w.WriteHeader(http.StatusAccepted)
}

// known wraps a handler for users who are known; the middlewares below it are listed first to last.
func known(handler http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if !app.Authorized(r.Header.Get("Authorization")) {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		handler(w, r)
	}
}

func chain(handler http.Handler, layers ...func(http.Handler) http.Handler) http.Handler {
	for i := len(layers) - 1; i >= 0; i-- {
		handler = layers[i](handler)
	}
	return handler
}

func limited(next http.Handler) http.Handler { return http.MaxBytesHandler(next, 1<<20) }

func timed(next http.Handler) http.Handler { return http.TimeoutHandler(next, time.Minute, "too slow") }

func counted(next http.Handler) http.Handler { return &counter{next: next} }

func main() {
	s := &site{
		sessions: store.NewSessions(app.Keep("POST /web/login")),
		reports:  report.New(store.NewCache(app.Keep("GET /web/reports/{month}"))),
		pictures: store.NewCache(app.Keep("GET /web/pictures/{id}")),
		events:   store.NewHistory[[]store.Event](app.Keep("POST /web/events")),
	}
	order := &placeOrder{store.NewTable[*store.Order](app.Keep("POST /rpc/orders"))}
	review := addReview{search.New(app.Keep("POST /rpc/reviews"))}

	web := http.NewServeMux()
	web.HandleFunc("POST /login", s.login)
	web.HandleFunc("GET /reports/{month}", known(s.report))
	web.HandleFunc("GET /pictures/{id}", known(s.picture))
	web.Handle("POST /events", counted(http.HandlerFunc(known(s.collect))))
	calls := prefixes{"orders": rpc{order}, "reviews": rpc{review}}
	all := prefixes{"web": http.StripPrefix("/web", web), "rpc": http.StripPrefix("/rpc", calls)}

	listener, address := app.Listen()
	server := &http.Server{Handler: chain(all, counted, limited, timed)}
	go func() { log.Fatal(server.Serve(listener)) }()
	app.Run(address, []app.Call{
		{Endpoint: "POST /web/login", Body: app.LoginBody(), Names: []any{s.login}},
		{Endpoint: "GET /web/reports/{month}", Path: "/web/reports/%d", Names: []any{s.report}},
		{Endpoint: "GET /web/pictures/{id}", Path: "/web/pictures/%d", Names: []any{s.picture}},
		{Endpoint: "POST /web/events", Body: app.EventsBody(), Names: []any{s.collect}},
		{Endpoint: "POST /rpc/orders", Body: app.OrderBody(), Names: []any{order.Answer}},
		{Endpoint: "POST /rpc/reviews", Body: app.TextBody(), Names: []any{review.Answer}},
	})
}
