// SPDX-License-Identifier: Apache-2.0

// A shop on chi: handlers are methods of a struct, sub-routers by resource.
package main

import (
	"encoding/json"
	"log"
	"net/http"
	"strconv"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/go-chi/chi/v5/middleware"

	"example.org/shop/internal/app"
	"example.org/shop/internal/report"
	"example.org/shop/internal/search"
	"example.org/shop/internal/store"
)

type server struct {
	orders   *store.Table[*store.Order]
	events   *store.History[[]store.Event]
	sessions *store.Sessions
	reviews  *search.Index
	reports  *report.Reports
	pictures store.Cache
}

func (s *server) createOrder(w http.ResponseWriter, r *http.Request) {
	order := &store.Order{}
	if err := json.NewDecoder(r.Body).Decode(order); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	order.ID = s.orders.Put(order)
	respond(w, map[string]any{"id": order.ID, "total": order.Total()})
}

func (s *server) collectEvents(w http.ResponseWriter, r *http.Request) {
	var events []store.Event
	if err := json.NewDecoder(r.Body).Decode(&events); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	respond(w, s.events.Add(events))
}

func (s *server) login(w http.ResponseWriter, r *http.Request) {
	var login store.Login
	if err := json.NewDecoder(r.Body).Decode(&login); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	respond(w, map[string]string{"token": s.sessions.Open(login.User)})
}

func (s *server) addReview(w http.ResponseWriter, r *http.Request) {
	var review store.Review
	if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	respond(w, s.reviews.Add(review.Text))
}

func (s *server) salesReport(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/csv")
	_, _ = w.Write(s.reports.Sales(chi.URLParam(r, "month")))
}

func (s *server) picture(w http.ResponseWriter, r *http.Request) {
	key := chi.URLParam(r, "id")
	data, found := s.pictures.Get(key)
	if !found {
		seed, _ := strconv.Atoi(key)
		data = report.Thumbnail(seed, 180)
		s.pictures.Put(key, data)
	}
	_, _ = w.Write(data)
}

func respond(w http.ResponseWriter, value any) {
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(value); err != nil {
		log.Print(err)
	}
}

// authenticated lets only known users through.
func authenticated(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !app.Authorized(r.Header.Get("Authorization")) {
			http.Error(w, http.StatusText(http.StatusUnauthorized), http.StatusUnauthorized)
			return
		}
		next.ServeHTTP(w, r)
	})
}

func main() {
	s := &server{
		orders:   store.NewTable[*store.Order](app.Keep("POST /orders")),
		events:   store.NewHistory[[]store.Event](app.Keep("POST /events")),
		sessions: store.NewSessions(app.Keep("POST /login")),
		reviews:  search.New(app.Keep("POST /products/reviews")),
		reports:  report.New(store.NewCache(app.Keep("GET /reports/{month}"))),
		pictures: store.NewCache(app.Keep("GET /products/{id}/picture")),
	}
	r := chi.NewRouter()
	r.Use(middleware.RequestID)
	r.Use(middleware.RealIP)
	r.Use(middleware.Recoverer)
	r.Use(middleware.Timeout(60 * time.Second))
	r.Use(authenticated)
	r.Post("/login", s.login)
	r.Post("/events", s.collectEvents)
	r.Route("/orders", func(r chi.Router) { r.Post("/", s.createOrder) })
	r.Route("/products", func(r chi.Router) {
		r.Post("/reviews", s.addReview)
		r.Route("/{id}", func(r chi.Router) { r.Get("/picture", s.picture) })
	})
	r.With(middleware.NoCache).Get("/reports/{month}", s.salesReport)

	listener, address := app.Listen()
	go func() { log.Fatal(http.Serve(listener, r)) }()
	app.Run(address, []app.Call{
		{Endpoint: "POST /orders", Path: "/orders/", Body: app.OrderBody(), Names: []any{s.createOrder}},
		{Endpoint: "POST /events", Body: app.EventsBody(), Names: []any{s.collectEvents}},
		{Endpoint: "POST /login", Body: app.LoginBody(), Names: []any{s.login}},
		{Endpoint: "POST /products/reviews", Body: app.TextBody(), Names: []any{s.addReview}},
		{Endpoint: "GET /reports/{month}", Path: "/reports/%d", Names: []any{s.salesReport}},
		{Endpoint: "GET /products/{id}/picture", Path: "/products/%d/picture", Names: []any{s.picture}},
	})
}
