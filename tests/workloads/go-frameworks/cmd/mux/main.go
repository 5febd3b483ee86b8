// SPDX-License-Identifier: Apache-2.0

// A shop on gorilla/mux: handlers that return errors, wrapped into ones that net/http knows.
package main

import (
	"context"
	"encoding/json"
	"io"
	"log"
	"net/http"
	"strconv"

	"github.com/gorilla/mux"

	"example.org/shop/internal/app"
	"example.org/shop/internal/report"
	"example.org/shop/internal/search"
	"example.org/shop/internal/store"
)

type shop struct {
	orders   *store.Table[store.Order]
	events   *store.Queue[[]store.Event]
	sessions *store.Sessions
	reviews  *search.Index
	reports  *report.Reports
	files    *store.History[[]byte]
}

// failing is a handler that may fail.
type failing func(w http.ResponseWriter, r *http.Request) error

func (h failing) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if err := h(w, r); err != nil {
		log.Print(r.Method, " ", r.URL.Path, ": ", err)
		http.Error(w, err.Error(), http.StatusInternalServerError)
	}
}

func (s *shop) postOrder(w http.ResponseWriter, r *http.Request) error {
	order, err := decoded[store.Order](r)
	if err != nil {
		return err
	}
	return json.NewEncoder(w).Encode(s.orders.Put(*order))
}

func (s *shop) postEvents(w http.ResponseWriter, r *http.Request) error {
	events, err := decoded[[]store.Event](r)
	if err != nil {
		return err
	}
	s.events.Push(*events)
	w.WriteHeader(http.StatusAccepted)
	return nil
}

func (s *shop) postLogin(w http.ResponseWriter, r *http.Request) error {
	login, err := decoded[store.Login](r)
	if err != nil {
		return err
	}
	return json.NewEncoder(w).Encode(s.sessions.Open(login.User))
}

func (s *shop) postReview(w http.ResponseWriter, r *http.Request) error {
	review, err := decoded[store.Review](r)
	if err != nil {
		return err
	}
	return json.NewEncoder(w).Encode(s.reviews.Add(review.Text))
}

func (s *shop) getReport(w http.ResponseWriter, r *http.Request) error {
	_, err := w.Write(s.reports.Sales(mux.Vars(r)["month"]))
	return err
}

func (s *shop) putFile(w http.ResponseWriter, r *http.Request) error {
	data, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 1<<20))
	if err != nil {
		return err
	}
	_, err = io.WriteString(w, strconv.Itoa(s.files.Add(data)))
	return err
}

func decoded[T any](r *http.Request) (*T, error) {
	data, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	value := new(T)
	return value, json.Unmarshal(data, value)
}

type userKey struct{}

func authenticate(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		header := r.Header.Get("Authorization")
		if !app.Authorized(header) {
			http.Error(w, "who are you?", http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), userKey{}, header)))
	})
}

func recovered(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			if problem := recover(); problem != nil {
				log.Print(problem)
				w.WriteHeader(http.StatusInternalServerError)
			}
		}()
		next.ServeHTTP(w, r)
	})
}

func main() {
	s := &shop{
		orders:   store.NewTable[store.Order](app.Keep("POST /orders")),
		events:   store.NewQueue(app.Keep("POST /events"), func(events []store.Event) { _ = len(events) }),
		sessions: store.NewSessions(app.Keep("POST /login")),
		reviews:  search.New(app.Keep("POST /reviews")),
		reports:  report.New(store.NewCache(app.Keep("GET /reports/{month:[0-9]+}"))),
		files:    store.NewHistory[[]byte](app.Keep("PUT /files/{name}")),
	}
	router := mux.NewRouter()
	router.Use(recovered, authenticate)
	router.Handle("/login", failing(s.postLogin)).Methods("POST")
	router.Handle("/events", failing(s.postEvents)).Methods("POST")
	router.Handle("/reviews", failing(s.postReview)).Methods("POST")
	router.Handle("/reports/{month:[0-9]+}", failing(s.getReport)).Methods("GET")
	router.Handle("/files/{name}", failing(s.putFile)).Methods("PUT")
	orders := router.PathPrefix("/orders").Subrouter()
	orders.Handle("", failing(s.postOrder)).Methods("POST")

	listener, address := app.Listen()
	server := &http.Server{Handler: router}
	go func() { log.Fatal(server.Serve(listener)) }()
	app.Run(address, []app.Call{
		{Endpoint: "POST /orders", Body: app.OrderBody(), Names: []any{s.postOrder}},
		{Endpoint: "POST /events", Body: app.EventsBody(), Names: []any{s.postEvents}},
		{Endpoint: "POST /login", Body: app.LoginBody(), Names: []any{s.postLogin}},
		{Endpoint: "POST /reviews", Body: app.TextBody(), Names: []any{s.postReview}},
		{Endpoint: "GET /reports/{month:[0-9]+}", Path: "/reports/%d", Names: []any{s.getReport}},
		{Endpoint: "PUT /files/{name}", Path: "/files/%d", Body: app.EventsBody(), Names: []any{s.putFile}},
	})
}
